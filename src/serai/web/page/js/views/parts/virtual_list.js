// A long list of which only what is on screen is in the document. Rows may have any height, and may grow.
import { html, useLayoutEffect, useMemo, useRef, useState } from "../preact.js";
import { Icon } from "./icon.js";
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "../../../vendor/virtual/index.js";

/** So near to the end counts as at the end, in pixels. */
const NEAR = 40;
/** So long it takes until what a person has opened is drawn, in ms. */
const HELD = 150;

/**
 * A virtual list. It opens at its end and stays there while the person is there; somebody who has
 * scrolled away keeps their place. Another `jump` brings them to the end. @template T @param {object} props
 * @param {readonly T[]} props.items @param {(item: T) => string} props.keyOf
 * @param {(item: T, index: number) => unknown} props.draw
 * @param {(item: T) => number} props.estimate the height of a row that was not drawn yet, in pixels
 * @param {string} props.label @param {unknown} [props.jump]
 */
export function VirtualList({ items, keyOf, draw, estimate, label, jump }) {
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  const place = useRef({ isAtEnd: true, top: 0, height: 0 });
  const isAway = useRef(false);
  const [, setChange] = useState(0);
  const given = useRef({ items, keyOf, estimate, keys: keysOf() });

  /** A new function tells the virtualizer that keys have changed places: it is made only when they have. */
  function keysOf() {
    return (/** @type {number} */ index) => {
      const { items: now, keyOf: key } = given.current;
      return key(/** @type {T} */ (now[index]));
    };
  }
  const before = given.current.items;
  const isOther =
    before !== items &&
    before.length === items.length &&
    items.some((item, at) => item !== before[at] && keyOf(item) !== keyOf(/** @type {T} */ (before[at])));
  given.current = { items, keyOf, estimate, keys: isOther ? keysOf() : given.current.keys };

  /** @type {() => import("../../../vendor/virtual/index.js").VirtualizerOptions} */
  const options = () => ({
    count: items.length,
    getScrollElement: () => scroller.current,
    getItemKey: given.current.keys,
    estimateSize: (index) => given.current.estimate(/** @type {T} */ (given.current.items[index])),
    onChange: () => setChange((count) => count + 1),
    overscan: 6,
    initialOffset: () => list.getTotalSize(),
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
  });
  const list = useMemo(() => new Virtualizer(options()), []);
  list.setOptions(options());
  useLayoutEffect(() => list._didMount(), []);
  useLayoutEffect(() => list._willUpdate());

  const toEnd = () => {
    place.current.isAtEnd = true;
    if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  };
  useLayoutEffect(toEnd, [jump]);
  // Rows that were measured, and rows that are new, are drawn before anything is painted: so nobody sees a jump.
  useLayoutEffect(() => {
    if (place.current.isAtEnd) toEnd();
  });
  useLayoutEffect(() => {
    // What stands below may take or give room: whoever is at the end stays there.
    const observer = new ResizeObserver(() => place.current.isAtEnd && toEnd());
    observer.observe(/** @type {Element} */ (scroller.current));
    return () => observer.disconnect();
  }, []);
  const farFromEnd = () => {
    const { scrollHeight = 0, clientHeight = 0, scrollTop = 0 } = scroller.current ?? {};
    return scrollHeight - clientHeight - scrollTop;
  };
  /** Whoever scrolls up leaves the end, however little that is; whoever comes near it again is there. */
  const scrolled = () => {
    if (!scroller.current) return;
    const { scrollTop, clientHeight } = scroller.current;
    const far = farFromEnd();
    // A list that has got another height was moved by the browser, and not by the person.
    const isUp = scrollTop < place.current.top && clientHeight === place.current.height;
    const isAtEnd = far <= 1 || (!isUp && (far <= NEAR || place.current.isAtEnd));
    place.current = { isAtEnd, top: scrollTop, height: clientHeight };
    if (isAway.current !== far > NEAR) setChange((count) => count + 1);
  };
  // Whoever opens a row wants to read it from its head on: the list must not run to its end, but show the row.
  const hold = (/** @type {Event} */ event) => {
    const target = /** @type {Element} */ (event.target);
    const row = target.closest("[data-index]");
    if (!row || !target.closest("[aria-expanded], .more")) return;
    place.current.isAtEnd = false;
    setTimeout(() => {
      const view = scroller.current?.getBoundingClientRect();
      const { top, bottom } = row.getBoundingClientRect();
      if (view && row.isConnected)
        scroller.current?.scrollBy(0, Math.max(0, Math.min(bottom - view.bottom, top - view.top)));
      place.current.isAtEnd = farFromEnd() <= NEAR;
    }, HELD);
  };
  // A browser would glide over rows that are not measured yet, and stop somewhere.
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    const element = scroller.current;
    if (!element || event.target !== element || (event.key !== "Home" && event.key !== "End")) return;
    event.preventDefault();
    if (event.key === "End") toEnd();
    else element.scrollTop = 0;
  };
  const rows = list.getVirtualItems();
  isAway.current = !place.current.isAtEnd && farFromEnd() > NEAR;
  return html`<div class="virtual">
    <div class="scroller" ref=${scroller} tabindex="0" role="region" aria-label=${label} onScroll=${scrolled}
      onKeyDown=${pressed} onClickCapture=${hold}>
      <div class="extent" style=${{ height: `${list.getTotalSize()}px` }}>
        <div class="drawn" style=${{ transform: `translateY(${rows[0]?.start ?? 0}px)` }}>
          ${rows.map(({ index, key }) => html`<div key=${key} data-index=${index} ref=${list.measureElement}>
            ${index < items.length && draw(/** @type {T} */ (items[index]), index)}
          </div>`)}
        </div>
      </div>
    </div>
    ${isAway.current && html`<button class="newest" onClick=${toEnd}><${Icon} name="down" /> Jump to newest</button>`}
  </div>`;
}
