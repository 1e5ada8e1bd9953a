// The base of the plugins that let users' policies (in CEL) or webhooks change a request. Both
// change written objects, and the options of connections.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';

export abstract class MutatingPlugin implements AdmissionPlugin {
  abstract readonly name: string;

  abstract concerns(target: AdmissionTarget): boolean;

  abstract handles(attributes: AdmissionAttributes): boolean;

  /**
   * Resolves with the changed attributes; with the same value if nothing has changed. Rejects with
   * StatusError.
   */
  protected abstract dispatch(attributes: AdmissionAttributes): Promise<AdmissionAttributes>;

  async admit(
    attributes: AdmissionAttributes & { readonly object: KubeObject },
  ): Promise<KubeObject> {
    return (await this.dispatch(attributes)).object!;
  }

  async admitRequest(attributes: AdmissionAttributes): Promise<object | undefined> {
    const { connectOptions } = await this.dispatch(attributes);
    return connectOptions === attributes.connectOptions ? undefined : connectOptions?.();
  }
}

/**
 * Returns the part of a request that may be changed: the object, or the options of a connection.
 */
export function subjectOf({ object, connectOptions }: AdmissionAttributes): object | undefined {
  return object ?? connectOptions?.();
}
