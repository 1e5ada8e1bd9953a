// dist/api-worker.js: an API server worker. It has its own compiled code, since it runs other
// functions of the program than the main process.

import { keepCompiledOnce } from '#cli/keep-compiled.ts';
import { loadProgram } from './load.ts';

const { program, ...build } = loadProgram({ part: 'api-worker' });
await program.apiWorker().runApiWorker((logger) => keepCompiledOnce(build, logger));
