// Creates the classes and the permissions. Idempotent, and safe with several controllers. Existing
// objects are kept.

import { ingressClasses } from '#api/groups/networking/v1/index.ts';
import { clusterRoleBindings, clusterRoles } from '#api/groups/rbac/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { gatewayClasses } from '../gateway-api/types.ts';
import {
  DEFAULT_CLASS_ANNOTATION,
  gatewayClass,
  ingressClass,
  INGRESS_PERMISSIONS,
} from './objects.ts';

/** Creates the roles. Needs administrator rights. */
export async function grantIngressPermissions(client: Client): Promise<void> {
  await Promise.all([
    apierrors.unlessExists(client.resource(clusterRoles).create(INGRESS_PERMISSIONS.clusterRole)),
    apierrors.unlessExists(
      client.resource(clusterRoleBindings).create(INGRESS_PERMISSIONS.clusterRoleBinding),
    ),
  ]);
}

/** Creates the IngressClass, and makes it the default if there is no other default. */
export async function publishIngressClass(client: Client): Promise<void> {
  const { items } = await client.resource(ingressClasses).list();
  const hasDefault = items.some(
    ({ metadata }) => metadata.annotations?.[DEFAULT_CLASS_ANNOTATION] === 'true',
  );
  await apierrors.unlessExists(client.resource(ingressClasses).create(ingressClass(!hasDefault)));
}

export async function publishGatewayClass(client: Client): Promise<void> {
  await apierrors.unlessExists(client.resource(gatewayClasses).create(gatewayClass));
}
