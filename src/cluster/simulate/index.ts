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
export { runSeed, scheduleOf } from './run-seed.ts';
export type { SeedResult } from './run-seed.ts';
export { loadScenario, simulate } from './simulate.ts';
export type { SeedRunner, SimulationFailure, SimulationReport } from './simulate.ts';
