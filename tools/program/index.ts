// dist/index.js: what `import … from 'coxswain'` gives.

import { loadProgram } from './load.ts';

export const { startCluster, scheduling } = loadProgram().program.embedding();
