import { prepareSamples } from './samples.js';

prepareSamples();
