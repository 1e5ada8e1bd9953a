// The controller that allocates addresses of a pool to services of type LoadBalancer.

export { LoadBalancerPoolController } from './load-balancer-pool-controller.ts';
export type { LoadBalancerPoolConfig } from './load-balancer-pool-controller.ts';
