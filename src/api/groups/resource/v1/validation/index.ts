// Validation of the group resource.k8s.io. Metadata is validated elsewhere, with the same rules for
// all kinds.

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
