// `cox simulate`: scenarios under faults, with invariants checked throughout.

export type {
  ScenarioAction,
  ScenarioContext,
  ScenarioInvariant,
  SimulationScenario,
} from './scenario.ts';
export { FAULT_KINDS } from './schedule.ts';
export type { FaultKind } from './schedule.ts';
export { SCENARIOS } from './scenarios/index.ts';
export { defaultProcesses, serveSeeds, startProcesses, WORKER_VARIABLE } from './processes.ts';
export { runSeed, scheduleOf } from './run-seed.ts';
export { loadScenario, simulate } from './simulate.ts';
export type { SimulationFailure, SimulationReport } from './simulate.ts';
