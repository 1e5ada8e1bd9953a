// The Deployment controller.

export { DeploymentController } from './deployment-controller.ts';
export type { DeploymentControllerConfig } from './deployment-controller.ts';
