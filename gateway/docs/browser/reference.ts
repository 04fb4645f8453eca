import { connectKeyForm } from './api-key.ts';
import { connectSampleTabs } from './sample-tabs.ts';
import { prepareSamples } from './samples.ts';
import { connectTryIt } from './try-it.ts';

connectKeyForm();
connectSampleTabs();
prepareSamples();
connectTryIt();
