// Whether anything of a stopped cluster stays in memory: a program of its own, which bench.ts runs
// without V8's optimizing compiler. That compiler goes on making machine code of functions for
// thousands of starts, in other memory than objects, but with data of its own among them.

import { startCluster } from '#cluster/index.ts';
import { liveMB } from './heap.ts';

/** Caches of the process are filled after so many starts. */
const WARM_UP = 50;

const clusters = Number(process.argv[2]);
if (!(clusters > WARM_UP)) throw new Error(`STARTS must be above ${WARM_UP}`);
let before = 0;
for (let round = 0; round < clusters; round++) {
  if (round === WARM_UP) before = await liveMB();
  await (await startCluster({ nodes: 1, clock: 'virtual' })).stop();
}
process.stdout.write(`${(await liveMB()) - before}\n`);
