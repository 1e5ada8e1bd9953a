// Keys that work on every page: Ctrl-K, and sequences that begin with g.

import { useEffect } from 'react';
import { useLocation } from 'wouter';

/** Pages by the key after g. */
export const GO_TO: Readonly<Record<string, readonly [title: string, route: string]>> = {
  o: ['Overview', '/'],
  p: ['Pods', '/list/pods'],
  d: ['Deployments', '/list/deployments.apps'],
  s: ['Services', '/list/services'],
  n: ['Nodes', '/list/nodes'],
  e: ['Events', '/list/events.events.k8s.io'],
  m: ['Map', '/map'],
  u: ['Usage', '/usage'],
  a: ['Apply YAML', '/apply'],
  t: ['Timeline', '/timeline'],
};

/** Reports whether keys belong to the element: it takes text. */
export const takesText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** The key after g must follow within this time. */
const SEQUENCE_MS = 1500;

export function useGlobalKeys(actions: {
  readonly search: () => void;
  readonly help: () => void;
}): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    let wentAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        actions.search();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || takesText(event.target)) return;
      if (event.timeStamp - wentAt < SEQUENCE_MS && Object.hasOwn(GO_TO, event.key)) {
        event.preventDefault();
        navigate(GO_TO[event.key]![1]);
        wentAt = Number.NEGATIVE_INFINITY;
        return;
      }
      wentAt = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (event.key === '?') actions.help();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
}
