// The worker's program, run from the sources.

import { runApiWorker } from './worker.ts';

void runApiWorker();
