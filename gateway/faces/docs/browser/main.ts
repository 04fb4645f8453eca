import { connectSampleLanguage, prepareSamples } from './samples.ts';
import { connectTryIt } from './try-it.ts';

// Each does nothing on a page without what it is for.
connectSampleLanguage();
prepareSamples();
connectTryIt();
