// The horizontal pod autoscaler controller.

export { HorizontalPodAutoscalerController } from './horizontal-pod-autoscaler-controller.ts';
export type { HorizontalPodAutoscalerConfig } from './horizontal-pod-autoscaler-controller.ts';
