// dist/components-thread.js: the thread of the components. It has its own compiled code, since it
// runs other functions of the program than the main thread.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { keepCompiledOnce } from '#cli/keep-compiled.ts';
import type { ThreadConfig } from '#cluster/thread/messages.ts';
import { loadProgram } from './load.ts';

const { program, ...build } = loadProgram({ part: 'components' });
program
  .thread()
  .runComponents(parentPort as MessagePort, workerData as ThreadConfig, (logger) =>
    keepCompiledOnce(build, logger),
  );
