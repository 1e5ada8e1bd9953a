// The thread's program, run from the sources.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { ThreadConfig } from './messages.ts';
import { runComponents } from './worker.ts';

runComponents(parentPort as MessagePort, workerData as ThreadConfig);
