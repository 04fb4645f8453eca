import { prepareSamples } from './samples.ts';

prepareSamples();
