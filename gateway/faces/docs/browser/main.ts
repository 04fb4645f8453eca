import { connectSampleLanguage, prepareSamples } from './samples.ts';

// It does nothing on a page without samples.
connectSampleLanguage();
prepareSamples();
