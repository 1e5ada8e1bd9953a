// Disruption budgets.

export { DisruptionController } from './disruption-controller.ts';
