import { connectSampleTabs } from './sample-tabs.ts';
import { prepareSamples } from './samples.ts';

connectSampleTabs();
prepareSamples();
