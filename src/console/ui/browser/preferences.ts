// Choices of the user that outlive the page: kept in the browser's local storage, which may be
// full, blocked or edited.

import { Store } from '../data/server/store.ts';

export interface Preferences {
  /** '' for all namespaces. */
  readonly namespace: string;
  readonly wideTables: boolean;
}

const KEY = 'coxswain-console';
const DEFAULTS: Preferences = { namespace: '', wideTables: false };

function read(): Preferences {
  if (typeof localStorage === 'undefined') return DEFAULTS;
  try {
    const value = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences> | null;
    return {
      namespace: typeof value?.namespace === 'string' ? value.namespace : DEFAULTS.namespace,
      wideTables: value?.wideTables === true,
    };
  } catch (error) {
    console.warn('preferences cannot be read', error);
    return DEFAULTS;
  }
}

export const preferences = new Store<Preferences>(read());

export function setPreference(change: Partial<Preferences>): void {
  const next = { ...preferences.get(), ...change };
  preferences.set(next);
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch (error) {
    console.warn('preferences cannot be kept', error);
  }
}
