// Validation of the networking group: one function per kind and way of writing it. Metadata is checked for all kinds alike,
// elsewhere.

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
