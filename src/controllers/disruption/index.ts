// The disruption controller.

export { DisruptionController } from './disruption-controller.ts';
