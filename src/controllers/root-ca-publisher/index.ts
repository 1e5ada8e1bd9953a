// The publisher of the cluster's root CA.

export { ROOT_CA_CONFIG_MAP, RootCaPublisher } from './root-ca-publisher.ts';
export type { RootCaPublisherConfig } from './root-ca-publisher.ts';
