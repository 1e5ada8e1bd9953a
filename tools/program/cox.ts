// dist/cox.js: the `cox` command.

import { loadProgram } from './load.ts';

const { program, ...build } = loadProgram();
await program.cox(build);
