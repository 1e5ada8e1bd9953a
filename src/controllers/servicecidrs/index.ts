export { SERVICE_CIDR_FINALIZER, ServiceCidrController } from './service-cidr-controller.ts';
