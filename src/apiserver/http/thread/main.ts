// The thread's program.

import { parentPort } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { runListener } from './worker.ts';

runListener(parentPort as MessagePort);
