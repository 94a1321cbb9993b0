// Search and filter what is already on the page. Nothing here makes text into markup,
// and everything on the page can be read without it.
"use strict";
(() => {
  const form = document.querySelector(".filter");
  if (!form) return;
  const box = form.querySelector("input");
  const statuses = Array.from(form.querySelectorAll("button[value]"));
  const told = form.querySelector("output");
  const total = document.querySelectorAll(".tests > li").length;
  let status = "all";
  let groups = null;
  let isWaiting = false;

  const PARTS = ".name, .place, .tag, .status, .mark, .origin";
  const wordsOf = (node) =>
    Array.from(node.querySelectorAll(PARTS), (part) => part.textContent)
      .join(" ")
      .toLowerCase();

  const itemsOf = (nodes, lead) =>
    Array.from(nodes, (node) => ({
      node,
      text: `${lead} ${wordsOf(node.querySelector("summary") || node)}`,
    }));

  // Read once, when the first search begins: opening the page should not wait for it.
  const readGroups = () => {
    const found = Array.from(document.querySelectorAll(".suite"), (node) => ({
      node,
      items: itemsOf(node.querySelectorAll(".tests > li"), wordsOf(node.querySelector("summary"))),
      isSuite: true,
      wasOpen: node.open,
    }));
    const failures = document.getElementById("failures");
    if (failures) {
      found.push({ node: failures, items: itemsOf(failures.querySelectorAll(".failure"), "") });
    }
    return found;
  };

  const showGroup = (group, isWanted, isFiltering, wasFiltering) => {
    let shown = 0;
    for (const { node, text } of group.items) {
      const isShown = isWanted(node, text);
      if (node.hidden === isShown) node.hidden = !isShown;
      if (isShown) shown += 1;
    }
    group.node.hidden = isFiltering && shown === 0;
    if (!group.isSuite) return 0;
    if (isFiltering && !wasFiltering) group.wasOpen = group.node.open;
    if (isFiltering) group.node.open = shown > 0;
    else if (wasFiltering) group.node.open = group.wasOpen;
    return shown;
  };

  let wasFiltering = false;
  const apply = () => {
    isWaiting = false;
    groups = groups || readGroups();
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isFiltering = words.length > 0 || status !== "all";
    const isWanted = (node, text) =>
      (status === "all" || node.classList.contains(status)) &&
      words.every((word) => text.includes(word));
    let shown = 0;
    for (const group of groups) shown += showGroup(group, isWanted, isFiltering, wasFiltering);
    wasFiltering = isFiltering;
    told.textContent = isFiltering
      ? `${shown.toLocaleString("en")} of ${total.toLocaleString("en")} tests shown`
      : "";
  };

  // However fast somebody types, the page is filtered once per frame.
  const schedule = () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(apply);
  };

  box.addEventListener("input", schedule);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of statuses) {
    button.addEventListener("click", () => {
      status = button.value;
      for (const other of statuses) other.setAttribute("aria-pressed", String(other === button));
      schedule();
    });
  }
  const setAll = (isOpen) => {
    for (const node of document.querySelectorAll(".suite, .failure")) node.open = isOpen;
  };
  form.querySelector(".open-all").addEventListener("click", () => setAll(true));
  form.querySelector(".close-all").addEventListener("click", () => setAll(false));

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      box.focus();
    } else if (event.key === "Escape" && event.target === box && box.value) {
      box.value = "";
      schedule();
    }
  });
  form.hidden = false;
})();
