// The ResourceClaim controller.

export { ResourceClaimController } from './resource-claim-controller.ts';
