/* Hand the cards of the atlas to the page that has asked for them. */
dispatchEvent(new CustomEvent("cards", { detail: cards }));
