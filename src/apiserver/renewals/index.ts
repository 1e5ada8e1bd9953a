// Renewals of the Leases of many nodes at once.

export { type LeaseRenewalBatch, LeaseRenewals } from './lease-renewals.ts';
