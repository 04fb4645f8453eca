import { connectKeyForm } from './api-key.js';
import { connectSampleTabs } from './sample-tabs.js';
import { prepareSamples } from './samples.js';
import { connectTryIt } from './try-it.js';

connectKeyForm(() => {});
connectSampleTabs();
prepareSamples();
connectTryIt();
