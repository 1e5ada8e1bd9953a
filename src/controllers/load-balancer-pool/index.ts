// Addresses for services of type LoadBalancer, out of a pool.

export { LoadBalancerPoolController } from './load-balancer-pool-controller.ts';
export type { LoadBalancerPoolConfig } from './load-balancer-pool-controller.ts';
