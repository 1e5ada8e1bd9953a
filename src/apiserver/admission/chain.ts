// All admission plugins as one.

import type { KubeObject } from '../../client/client.ts';
import type { Awaitable } from '../../machinery/awaitable.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget, Operation } from './plugin.ts';
import { Reinvocation } from './reinvocation.ts';

type Admitted = AdmissionAttributes & { readonly object: KubeObject };
type Admitting = AdmissionPlugin & Required<Pick<AdmissionPlugin, 'admit'>>;
type Validating = AdmissionPlugin & Required<Pick<AdmissionPlugin, 'validate'>>;

/** The plugins that a kind of writes concerns. */
interface Concerned {
  readonly admitting: readonly Admitting[];
  readonly validating: readonly Validating[];
}

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  /** By resource, then by subresource and operation. */
  readonly #concerned = new WeakMap<AdmissionTarget['resource'], Map<string, Map<Operation, Concerned>>>();

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  /**
   * The object as the plugins want it, each seeing what the one before has made of it; at once if they all know at once. Rejects
   * with StatusError.
   */
  admit(attributes: Admitted): Awaitable<KubeObject> {
    const { admitting } = this.#concernedBy(attributes);
    const reinvocation = new Reinvocation();
    // Copied first, then changed: a literal that names members beside what it spreads is several times as slow to make.
    const first: Admitted & { reinvocation?: Reinvocation } = { ...attributes };
    first.reinvocation = reinvocation;
    try {
      return this.#admitFrom(0, admitting, first, reinvocation);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #admitFrom(
    from: number,
    plugins: readonly Admitting[],
    attributes: Admitted,
    reinvocation: Reinvocation,
  ): Awaitable<KubeObject> {
    let current = attributes;
    let at = from;
    do {
      while (at < plugins.length) {
        const plugin = plugins[at++] as Admitting;
        if (plugin.handles?.(current) === false) continue;
        const answer = plugin.admit(current);
        if (answer instanceof Promise) {
          const asked = current;
          return answer.then((object) => this.#admitFrom(at, plugins, withObject(asked, object), reinvocation));
        }
        current = withObject(current, answer);
      }
      at = 0;
    } while (reinvocation.begin());
    return current.object;
  }

  /** At once if all plugins know at once. Rejects with StatusError. */
  validate(attributes: AdmissionAttributes): Awaitable<void> {
    try {
      return validateFrom(0, this.#concernedBy(attributes).validating, attributes);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #concernedBy({ operation, resource, subresource }: AdmissionTarget): Concerned {
    let ofResource = this.#concerned.get(resource);
    if (ofResource === undefined) {
      ofResource = new Map();
      this.#concerned.set(resource, ofResource);
    }
    let ofSubresource = ofResource.get(subresource);
    if (ofSubresource === undefined) {
      ofSubresource = new Map();
      ofResource.set(subresource, ofSubresource);
    }
    let concerned = ofSubresource.get(operation);
    if (concerned === undefined) {
      const plugins = this.#plugins.filter((plugin) => plugin.concerns?.({ operation, resource, subresource }) !== false);
      concerned = {
        admitting: plugins.filter((plugin): plugin is Admitting => plugin.admit !== undefined),
        validating: plugins.filter((plugin): plugin is Validating => plugin.validate !== undefined),
      };
      ofSubresource.set(operation, concerned);
    }
    return concerned;
  }
}

function withObject(attributes: Admitted, object: KubeObject): Admitted {
  if (object === attributes.object) return attributes;
  const copy: AdmissionAttributes & { object: KubeObject } = { ...attributes };
  copy.object = object;
  return copy;
}

function validateFrom(from: number, plugins: readonly Validating[], attributes: AdmissionAttributes): Awaitable<void> {
  for (let at = from; at < plugins.length; at++) {
    const plugin = plugins[at] as Validating;
    if (plugin.handles?.(attributes) === false) continue;
    const answer = plugin.validate(attributes);
    if (answer instanceof Promise) return answer.then(() => validateFrom(at + 1, plugins, attributes));
  }
  return undefined;
}
