// One workload, named by the first argument and scaled by the second, for the process that has started this one.

import { runInProcess } from './in-process.ts';
import { scaled, WORKLOADS } from './workloads.ts';

const [, , name, scale = '1'] = process.argv;
const workload = WORKLOADS.find((one) => one.name === name);
if (workload === undefined) throw new Error(`there is no workload ${name}`);
const measured = await runInProcess(scaled(workload, Number(scale)));
if (process.send === undefined) console.log(measured);
else process.send(measured, () => process.disconnect());
