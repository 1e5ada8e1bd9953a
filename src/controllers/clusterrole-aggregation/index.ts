// Roles made of others.

export { ClusterRoleAggregationController } from './cluster-role-aggregation-controller.ts';
