// Validation of the networking group: one function per kind and operation. Metadata is validated
// elsewhere, with the same rules for all kinds.

export {
  ipAddressName,
  validateIPAddress,
  validateIPAddressUpdate,
  validateServiceCIDR,
  validateServiceCIDRUpdate,
} from './addresses.ts';
export { validateIngressClass, validateIngressClassUpdate } from './ingress-class.ts';
export {
  INGRESS_CLASS_ANNOTATION,
  validateIngressStatus,
  validateIngressUpdate,
  validateNewIngress,
} from './ingress.ts';
export { validateNetworkPolicy } from './network-policy.ts';
