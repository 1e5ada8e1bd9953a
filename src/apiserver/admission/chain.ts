// All admission plugins as one.

import type { KubeObject } from '../../client/client.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';
import { Reinvocation } from './reinvocation.ts';

type Admitting = AdmissionPlugin & Required<Pick<AdmissionPlugin, 'admit'>>;
type Validating = AdmissionPlugin & Required<Pick<AdmissionPlugin, 'validate'>>;

/** The plugins that a kind of writes concerns. */
interface Concerned {
  readonly admitting: readonly Admitting[];
  readonly validating: readonly Validating[];
}

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  /** By resource, then by operation and subresource. */
  readonly #concerned = new WeakMap<AdmissionTarget['resource'], Map<string, Concerned>>();

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  /** The object as the plugins want it, each seeing what the one before has made of it. Throws StatusError. */
  async admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Promise<KubeObject> {
    const { admitting } = this.#concernedBy(attributes);
    const reinvocation = new Reinvocation();
    let current = { ...attributes, reinvocation };
    do {
      for (const plugin of admitting) {
        if (plugin.handles?.(current) === false) continue;
        const answer = plugin.admit(current);
        const object = answer instanceof Promise ? await answer : answer;
        if (object !== current.object) current = { ...current, object };
      }
    } while (reinvocation.begin());
    return current.object;
  }

  /** Throws StatusError. */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    for (const plugin of this.#concernedBy(attributes).validating) {
      if (plugin.handles?.(attributes) === false) continue;
      const answer = plugin.validate(attributes);
      if (answer instanceof Promise) await answer;
    }
  }

  #concernedBy({ operation, resource, subresource }: AdmissionTarget): Concerned {
    let ofResource = this.#concerned.get(resource);
    if (ofResource === undefined) {
      ofResource = new Map();
      this.#concerned.set(resource, ofResource);
    }
    const key = `${operation}/${subresource}`;
    let concerned = ofResource.get(key);
    if (concerned === undefined) {
      const plugins = this.#plugins.filter((plugin) => plugin.concerns?.({ operation, resource, subresource }) !== false);
      concerned = {
        admitting: plugins.filter((plugin): plugin is Admitting => plugin.admit !== undefined),
        validating: plugins.filter((plugin): plugin is Validating => plugin.validate !== undefined),
      };
      ofResource.set(key, concerned);
    }
    return concerned;
  }
}
