// Annotations of contents, and the parameters of their classes.

import type { CsiMessage } from '#csi/schema.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

/** The annotation with the node that has the snapshot, where each node has a driver of its own. */
export const SNAPSHOT_NODE = 'csi.coxswain.dev/node';
/** The prefix of the parameters of classes that are not for the driver. */
const RESERVED = 'csi.storage.k8s.io/';

/** The annotations of a content that name the secret of its calls. */
export interface SecretAnnotations {
  readonly name: string;
  readonly namespace: string;
}

/** Returns the annotations that a content gets from its class, and from the node of the driver. */
export function contentAnnotations(
  { nodeName }: { readonly nodeName?: string | undefined },
  keys: SecretAnnotations,
  secret: { readonly name: string | undefined; readonly namespace: string | undefined },
): Readonly<Record<string, string>> {
  return {
    ...(nodeName !== undefined && { [SNAPSHOT_NODE]: nodeName }),
    ...(secret.name !== undefined && {
      [keys.name]: secret.name,
      [keys.namespace]: secret.namespace ?? '',
    }),
  };
}

/** Returns the parameter of a class that is not for the driver. */
export const reservedParameter = (
  parameters: Readonly<Record<string, string>> | undefined,
  name: string,
): string | undefined => ownValue(parameters ?? {}, `${RESERVED}${name}`);

/** Returns the parameters of a class that are for the driver. */
export const driverParameters = (
  parameters: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(parameters ?? {}).filter(([key]) => !key.startsWith(RESERVED)));

/** Returns nanoseconds since the epoch; 0 without a time. */
export const nanoseconds = (time: CsiMessage<'Timestamp'> | undefined): number =>
  (time?.seconds ?? 0) * 1e9 + (time?.nanos ?? 0);
