// Determines the disruption budgets that a preemption would violate. Priority takes precedence over
// budgets: victims without a violation are preferred, but if there are none, budgets are violated.

import { podDisruptionBudgets, type PodDisruptionBudget } from '#api/groups/policy/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { labelSelectorAsSelector, type Selector } from '#machinery/selectors/labels.ts';
import type { Handle } from '#scheduler/framework/handle.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';

type Budget = Immutable<PodDisruptionBudget>;

export interface ByBudget {
  /** Pods whose eviction their budgets do not allow, after the evictions before them. */
  readonly violating: readonly PodInfo[];
  readonly others: readonly PodInfo[];
}

export class DisruptionBudgets {
  readonly #lister;
  /** Changes whenever the result of `split` may change. */
  #version = 0;
  /** By namespace; a namespace is missing if its budgets were not read since the last change. */
  readonly #known = new Map<
    string,
    readonly { readonly budget: Budget; readonly selector: Selector }[]
  >();

  constructor({ informers, ended }: Pick<Handle, 'informers' | 'ended'>) {
    const informer = informers.informerFor(podDisruptionBudgets);
    this.#lister = informer.lister;
    const changed = ({ metadata }: Budget): void => {
      this.#version++;
      this.#known.delete(metadata.namespace ?? '');
    };
    const registration = informer.addEventHandler({
      onAdd: changed,
      onUpdate: (before, after) => {
        if (!saysTheSame(before, after)) changed(after);
      },
      onDelete: changed,
    });
    ended.addEventListener('abort', () => registration.remove(), { once: true });
  }

  get version(): number {
    return this.#version;
  }

  /** Splits `pods` for their eviction in this order. Keeps the order. */
  split(pods: readonly PodInfo[]): ByBudget {
    if (this.#lister.size === 0) return { violating: [], others: pods };
    const violating: PodInfo[] = [];
    const others: PodInfo[] = [];
    const taken = new Map<Budget, number>();
    for (const pod of pods) (this.#take(pod, taken) ? others : violating).push(pod);
    return { violating, others };
  }

  /**
   * Reports whether all budgets of the pod allow its eviction, in addition to the evictions in
   * `taken`.
   */
  #take({ pod: { metadata } }: PodInfo, taken: Map<Budget, number>): boolean {
    const { labels, name = '', namespace = '' } = metadata;
    if (labels === undefined) return true;
    let allowed = true;
    for (const { budget, selector } of this.#of(namespace)) {
      // A pod that is being disrupted already is not counted a second time.
      if (!selector.matches(labels) || Object.hasOwn(budget.status.disruptedPods ?? {}, name))
        continue;
      const count = (taken.get(budget) ?? 0) + 1;
      taken.set(budget, count);
      if (count > budget.status.disruptionsAllowed) allowed = false;
    }
    return allowed;
  }

  #of(namespace: string): readonly { readonly budget: Budget; readonly selector: Selector }[] {
    let budgets = this.#known.get(namespace);
    if (budgets === undefined) {
      budgets = this.#lister
        .list(namespace)
        .map((budget) => ({ budget, selector: labelSelectorAsSelector(budget.spec.selector) }))
        // An empty selector selects nothing here.
        .filter(({ selector }) => !selector.empty());
      this.#known.set(namespace, budgets);
    }
    return budgets;
  }
}

function saysTheSame(a: Budget, b: Budget): boolean {
  return (
    a.status.disruptionsAllowed === b.status.disruptionsAllowed &&
    semanticEqual(a.status.disruptedPods, b.status.disruptedPods) &&
    semanticEqual(a.spec.selector, b.spec.selector)
  );
}
