// The base of the plugins that ask others to change a request: policies in CEL, and webhooks. Both change
// objects that are written, and the options of connections.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';

export abstract class MutatingPlugin implements AdmissionPlugin {
  abstract readonly name: string;

  abstract concerns(target: AdmissionTarget): boolean;

  abstract handles(): boolean;

  /**
   * Resolves with the attributes as they have been changed; the same value if nothing has changed. Rejects with
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

/** Returns what may be changed of a request: the object, or the options of a connection. */
export function subjectOf({ object, connectOptions }: AdmissionAttributes): object | undefined {
  return object ?? connectOptions?.();
}
