// The search of Ctrl-K: pages, kinds, and objects of all kinds by name.

import { Modal, TextInput } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { pluralTitle } from '../data/lists/categories.ts';
import { printable } from '../data/text/printable.ts';
import { listRoute, objectRoute } from '../data/server/routes.ts';
import { type Hit, matchScore, SearchIndex } from '../data/lists/search-index.ts';
import { useStore, useTypes } from '../parts/hooks.ts';
import { useServices } from '../services.ts';
import { GO_TO } from './keys.ts';

interface Result {
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  readonly route: string;
  readonly score: number;
}

const MAX_RESULTS = 40;

export function Search({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { api } = useServices();
  const types = useTypes();
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const index = useMemo(() => new SearchIndex(api, types.all), [api, types]);
  const hits = useStore(index.hits);
  const [exact, setExact] = useState<readonly Hit[]>([]);
  const [loading, setLoading] = useState(true);
  const list = useRef<HTMLUListElement>(null);

  useEffect(() => {
    const abort = new AbortController();
    void index.load(abort.signal).finally(() => {
      if (!abort.signal.aborted) setLoading(false);
    });
    return () => abort.abort();
  }, [index]);

  const wanted = text.trim().toLowerCase();
  useEffect(() => {
    setExact([]);
    if (wanted.length < 2 || /\s/.test(wanted)) return undefined;
    const abort = new AbortController();
    void index.exact(wanted, abort.signal).then((found) => {
      if (!abort.signal.aborted) setExact(found);
    });
    return () => abort.abort();
  }, [index, wanted]);

  const results = useMemo(
    () => resultsOf(wanted, types, [...exact, ...hits]),
    [wanted, types, exact, hits],
  );
  useEffect(() => setActive(0), [wanted]);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active]);

  const open = (result: Result | undefined): void => {
    if (result === undefined) return;
    onClose();
    navigate(result.route);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setActive((active + step + results.length) % Math.max(1, results.length));
    } else if (event.key === 'Enter') open(results[active]);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      title="Search everything"
      padding="sm"
      size="lg"
      yOffset="12vh"
      transitionProps={{ duration: 80 }}
    >
      <TextInput
        data-autofocus
        role="combobox"
        aria-expanded={results.length > 0}
        aria-controls="search-results"
        aria-activedescendant={results.length > 0 ? `result-${active}` : undefined}
        aria-label="Search everything"
        placeholder="A name, a kind or a page"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        spellCheck={false}
      />
      <ul className="results" role="listbox" id="search-results" aria-label="Results" ref={list}>
        {results.map((result, position) => (
          <li
            key={result.key}
            id={`result-${position}`}
            role="option"
            aria-selected={position === active}
            className="result"
            onClick={() => open(result)}
            onMouseMove={() => setActive(position)}
          >
            <span className="result-title">{printable(result.title)}</span>
            <span className="result-detail">{printable(result.detail)}</span>
          </li>
        ))}
      </ul>
      <p className="muted search-note" role="status">
        {results.length === 0 && wanted !== '' && !loading && 'Nothing was found. '}
        {loading
          ? 'Reading names …'
          : `${hits.length.toLocaleString('en')} names${
              index.partial.size > 0
                ? `; of ${[...index.partial].join(', ')} the first ones, and exact names`
                : ''
            }`}
      </p>
    </Modal>
  );
}

function resultsOf(
  wanted: string,
  types: ReturnType<typeof useTypes>,
  hits: readonly Hit[],
): readonly Result[] {
  const results: Result[] = [];
  const add = (result: Omit<Result, 'score'>, score: number): void => {
    if (score > 0) results.push({ ...result, score });
  };
  for (const [key, [title, route]] of Object.entries(GO_TO))
    if (!route.startsWith('/list/'))
      add(
        { key: `page/${key}`, title, detail: 'page', route },
        wanted === '' ? 1 : matchScore(title, wanted),
      );
  for (const type of types.all) {
    if (!type.verbs.includes('list')) continue;
    const title = pluralTitle(type);
    const short = type.shortNames.includes(wanted) ? 95 : 0;
    const score = Math.max(short, matchScore(title, wanted), matchScore(type.resource, wanted));
    const detail = `list${type.group === '' ? '' : ` · ${type.group}`}`;
    const key = `list/${type.group}/${type.resource}`;
    add(
      { key, title, detail, route: listRoute(type) },
      wanted === '' || score === 0 ? 0 : score + 5,
    );
  }
  const seen = new Set<string>();
  for (const { type, namespace, name } of wanted === '' ? [] : hits) {
    const key = `${type.group}/${type.resource}/${namespace ?? ''}/${name}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const score = Math.max(
      matchScore(name, wanted),
      matchScore(`${type.kind} ${namespace ?? ''}/${name}`, wanted) - 5,
    );
    const detail = namespace === undefined ? type.kind : `${type.kind} in ${namespace}`;
    add({ key, title: name, detail, route: objectRoute(type, namespace, name) }, score);
  }
  return results.sort((a, b) => b.score - a.score).slice(0, MAX_RESULTS);
}
