// All admission plugins as one.

import type { KubeObject } from '../../client/client.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';
import { Reinvocation } from './reinvocation.ts';

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  /** The object as the plugins want it, each seeing what the one before has made of it. Throws StatusError. */
  async admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Promise<KubeObject> {
    const reinvocation = new Reinvocation();
    let current = { ...attributes, reinvocation };
    do {
      for (const plugin of this.#plugins) {
        if (plugin.admit === undefined || !plugin.handles(current)) continue;
        const object = await plugin.admit(current);
        if (object !== current.object) current = { ...current, object };
      }
    } while (reinvocation.begin());
    return current.object;
  }

  /** Throws StatusError. */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    for (const plugin of this.#plugins) {
      if (plugin.validate !== undefined && plugin.handles(attributes)) await plugin.validate(attributes);
    }
  }
}
