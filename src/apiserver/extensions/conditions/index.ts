// The status of CustomResourceDefinitions, and their deletion.

export { DefinitionConditions, OTHERS_SEE_MS } from './controller.ts';
export type { ConditionsConfig } from './controller.ts';
