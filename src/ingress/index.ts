// The controller and proxy of Ingresses and the Gateway API.

export {
  IngressController,
  type IngressControllerConfig,
} from './controller/ingress-controller.ts';
export type { Facts } from './decide/objects.ts';
export { IngressMetrics } from './proxy/metrics.ts';
export { NodeProxy, type Proxy, type ProxyConfig } from './proxy/proxy.ts';
export { CLASS_NAME, INGRESS_PERMISSIONS, INGRESS_USER } from './publish/objects.ts';
export { grantIngressPermissions } from './publish/publish.ts';
