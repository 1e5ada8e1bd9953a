// Creates the Service and the EndpointSlice of the cluster's DNS. Idempotent, and safe with several
// servers.

import { services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
} from '#api/groups/rbac/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { DNS_SERVICE } from '../serving/dns-server.ts';
import {
  DNS_PERMISSIONS,
  type DnsEndpoint,
  dnsService,
  dnsSlice,
  dnsSliceName,
} from './objects.ts';

/** Creates the roles. Needs administrator rights. Existing objects are kept. */
export async function grantDnsPermissions(client: Client): Promise<void> {
  const { clusterRole, clusterRoleBinding, role, roleBinding } = DNS_PERMISSIONS;
  const { namespace } = DNS_SERVICE;
  await Promise.all([
    apierrors.unlessExists(client.resource(clusterRoles).create(clusterRole)),
    apierrors.unlessExists(client.resource(clusterRoleBindings).create(clusterRoleBinding)),
    apierrors.unlessExists(client.resource(roles).namespace(namespace).create(role)),
    apierrors.unlessExists(client.resource(roleBindings).namespace(namespace).create(roleBinding)),
  ]);
}

/**
 * Creates the Service if it does not exist, with the address if it is given.
 *
 * @returns false if a Service that selects pods exists: the administrator runs another DNS server
 * under its name
 */
export async function publishDnsService(
  client: Client,
  address: string | undefined,
  metrics: boolean,
): Promise<boolean> {
  const inNamespace = client.resource(services).namespace(DNS_SERVICE.namespace);
  const present = await apierrors.unlessMissing(inNamespace.get(DNS_SERVICE.name));
  if (present !== undefined) return Object.keys(present.spec.selector ?? {}).length === 0;
  try {
    await inNamespace.create(dnsService(address ?? '', metrics));
    return true;
  } catch (error) {
    // Another server that starts at the same time has created the Service, or has its address and
    // is about to create it.
    if ((await apierrors.unlessMissing(inNamespace.get(DNS_SERVICE.name))) === undefined)
      throw error;
    return true;
  }
}

/** Creates or replaces this server's slice. */
export async function publishDnsEndpoint(client: Client, endpoint: DnsEndpoint): Promise<void> {
  const slice = dnsSlice(endpoint);
  const name = dnsSliceName(endpoint.node);
  const inNamespace = client.resource(endpointSlices).namespace(DNS_SERVICE.namespace);
  try {
    await inNamespace.create(slice);
  } catch (error) {
    if (!apierrors.isAlreadyExists(error)) throw error;
    const present = await inNamespace.get(name);
    // The address type is immutable.
    if (present.addressType !== slice.addressType) {
      await inNamespace.delete(name);
      await inNamespace.create(slice);
    } else
      await inNamespace.update({
        ...slice,
        metadata: { ...slice.metadata, resourceVersion: present.metadata.resourceVersion },
      });
  }
}

/** Deletes the slice of this server, so that no more clients are sent to it. */
export async function withdrawDnsEndpoint(client: Client, node: string): Promise<void> {
  try {
    await client
      .resource(endpointSlices)
      .namespace(DNS_SERVICE.namespace)
      .delete(dnsSliceName(node));
  } catch (error) {
    if (!apierrors.isNotFound(error)) throw error;
  }
}
