// One workload, named by the argument, for the process that has started this one.

import { runInProcess } from './in-process.ts';
import { WORKLOADS } from './workloads.ts';

const workload = WORKLOADS.find(({ name }) => name === process.argv[2]);
if (workload === undefined) throw new Error(`there is no workload ${process.argv[2]}`);
const measured = await runInProcess(workload);
if (process.send === undefined) console.log(measured);
else process.send(measured, () => process.disconnect());
