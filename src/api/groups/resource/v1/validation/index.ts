// Validation of the group resource.k8s.io. Metadata is checked for all kinds alike, elsewhere.

export {
  deviceKey,
  validateResourceClaim,
  validateResourceClaimStatus,
  validateResourceClaimTemplate,
  validateResourceClaimTemplateUpdate,
  validateResourceClaimUpdate,
} from './claims.ts';
export { validateDeviceClass } from './requests.ts';
export { validateResourceSlice } from './slices.ts';
