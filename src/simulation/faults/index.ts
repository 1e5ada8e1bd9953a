// Faults of a cluster: where they are injected, and how they are selected.

export type { Fault } from './active-faults.ts';
export { isComponent } from './selector.ts';
export type { FaultSelector, FaultVerb } from './selector.ts';
export { componentOfUser, isWrite, SERVER_COMPONENT, TEST_COMPONENT } from './call.ts';
export type { Call } from './call.ts';
export type { FaultyComponents } from './context.ts';
export { FaultInterceptor } from './interceptor.ts';
export type { FaultRule } from './interceptor.ts';
export { FaultyStorage } from './faulty-storage.ts';
export { ClockSkews } from './skewed-clock.ts';
export { WebhookFaults } from './webhook-faults.ts';
export { makeFaults } from './faults.ts';
export type { Faults } from './faults.ts';
