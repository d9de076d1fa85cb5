// What `preact.js` offers, typed as far as the page uses it.
export interface VNode { type: unknown; props: unknown; key: unknown }
export type Child = VNode | string | number | boolean | null | undefined | ReadonlySignal<unknown> | Child[];
export interface ReadonlySignal<T> {
  readonly value: T;
  peek(): T;
  subscribe(listener: (value: T) => void): () => void;
}
export interface Signal<T> extends ReadonlySignal<T> { value: T }
export interface Ref<T> { current: T }
type Dependencies = readonly unknown[];

export function html(strings: TemplateStringsArray, ...values: unknown[]): VNode;
export function h(type: unknown, props: unknown, ...children: unknown[]): VNode;
export function render(node: unknown, into: Element): void;
export function memo<P>(component: (props: P) => unknown): (props: P) => VNode;
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
export function useRef<T>(initial: T): Ref<T>;
export function useMemo<T>(make: () => T, dependencies: Dependencies): T;
export function useEffect(run: () => void | (() => void), dependencies?: Dependencies): void;
export function useLayoutEffect(run: () => void | (() => void), dependencies?: Dependencies): void;
export function useId(): string;
export function useErrorBoundary(caught?: (error: unknown) => void): [unknown, () => void];
export function signal<T>(initial: T): Signal<T>;
export function computed<T>(compute: () => T): ReadonlySignal<T>;
export function effect(run: () => void | (() => void)): () => void;
export function batch<T>(run: () => T): T;
export function useSignal<T>(initial: T): Signal<T>;
export function useComputed<T>(compute: () => T): ReadonlySignal<T>;
export function useSignalEffect(run: () => void | (() => void)): void;
